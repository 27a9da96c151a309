"""What a run tells: its log, the lines on a terminal, and its reports."""
