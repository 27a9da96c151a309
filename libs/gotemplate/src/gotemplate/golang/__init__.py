"""Go's standard library as templates see it: values, fmt, strconv, time, net/url, encoding/json."""
