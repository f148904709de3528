#!/bin/sh
# Builds the etcd that the tests run against, once, and prints where it lies.
exec "$(dirname "$0")/build-go.sh" etcd 3.6.16 go.etcd.io/etcd/server/v3
