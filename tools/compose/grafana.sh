#!/bin/sh
# Stands for Grafana, which cannot be built here: its files must be there, its port answers. The
# queries of the dashboard are sent by `make compose` from this container.
set -eu

for file in /etc/grafana/provisioning/datasources/prometheus.yaml \
    /etc/grafana/provisioning/dashboards/kudo.yaml /var/lib/grafana/dashboards/kudo.json; do
    [ -s "$file" ] || { echo "$file is missing" >&2; exit 1; }
done
mkdir -p /www
echo "a stand-in for Grafana" >/www/index.html
httpd -f -p 3000 -h /www &
# The first process of a container ends by a signal only if it handles it.
trap 'kill $!; exit 0' TERM INT
wait
