# Fails if the front shows fewer entries than were migrated, and says so in the status.
shown=$(wget -qO- http://{{ .Name }}:{{ .Params.port }}/cgi-bin/book | wc -l)
if [ "$shown" -lt "$1" ]; then
  echo "the front shows $shown of $1 entries" > /dev/termination-log
  exit 1
fi
