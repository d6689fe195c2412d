#!/bin/sh
echo "{{ grains.id }} $1 $2" | tee commands.script
