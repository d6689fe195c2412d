plain:
  test.nop: []
