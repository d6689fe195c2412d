#!/bin/sh
echo script $1 $2
