# Asks the store to bring its entries up to date. The store has the volume, so it does the work, and says
# how many entries there are and how many it could not mend. What a program writes to /dev/termination-log
# are its outputs.
set -e
answer=$(wget -qO- http://{{ .Name }}-store:{{ .Params.port }}/cgi-bin/migrate)
echo "$answer"
echo "$answer" > /dev/termination-log
