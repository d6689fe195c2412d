composed_last:
  test.nop: [order: last]
