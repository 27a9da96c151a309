# Fails if the front does not give its page: then the plan ends in FATAL_ERROR.
wget -qO- http://{{ .Name }}:{{ .Params.port }}/
