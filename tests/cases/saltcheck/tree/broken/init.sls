m:
  test.nop: []
