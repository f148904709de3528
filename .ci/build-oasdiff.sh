#!/bin/sh
# Builds oasdiff, which finds what breaks clients between two OpenAPI documents, once, and prints where it lies.
exec "$(dirname "$0")/build-go.sh" oasdiff 1.37.0 github.com/oasdiff/oasdiff
