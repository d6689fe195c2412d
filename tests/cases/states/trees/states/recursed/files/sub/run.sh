#!/bin/sh
# {{ word | upper }}
