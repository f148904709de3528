#!/bin/sh
# Builds the Caddy that the tests put before the service, once, and prints where it lies.
caddy=github.com/caddyserver/caddy/v2
exec "$(dirname "$0")/build-go.sh" caddy 2.11.9 $caddy/cmd/caddy -X $caddy.CustomVersion=v2.11.9
