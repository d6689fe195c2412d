i:
  test.nop: []
