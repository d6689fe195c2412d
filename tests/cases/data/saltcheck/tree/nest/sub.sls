s:
  test.nop: []
