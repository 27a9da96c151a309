# Writes the book into its log. One of yours would send it to where it is safe.
wget -qO- http://{{ .Name }}-store:{{ .Params.port }}/cgi-bin/book
