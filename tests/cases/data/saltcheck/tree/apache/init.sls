include:
  - .config

up:
  test.nop: []
