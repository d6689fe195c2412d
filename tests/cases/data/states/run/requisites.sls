fail1:
  test.fail_without_changes: []
ok1:
  test.succeed_without_changes: []
chg1:
  test.succeed_with_changes: []
r1:
  test.nop:
  - require:
    - test: fail1
r2:
  test.nop:
  - onchanges:
    - test: ok1
r3:
  test.nop:
  - onchanges:
    - test: chg1
r4:
  test.nop:
  - onfail:
    - test: ok1
r5:
  test.nop:
  - onfail:
    - test: fail1
r6:
  test.nop:
  - watch:
    - test: chg1
r7:
  test.nop:
  - require:
    - test: r1
r8:
  test.nop:
  - require_any:
    - test: fail1
    - test: ok1
r9:
  test.nop:
  - onchanges:
    - test: fail1
r10:
  test.nop:
  - onfail_any:
    - test: ok1
    - test: chg1
r11:
  test.nop:
  - onchanges_any:
    - test: ok1
    - test: fail1
r12:
  test.nop:
  - onfail_all:
    - test: ok1
    - test: fail1
r13:
  test.nop:
  - watch_any:
    - test: ok1
    - test: fail1
p1:
  test.nop:
  - prereq:
    - test: ok1
p2:
  test.nop:
  - prereq:
    - test: chg1
p3:
  test.nop:
  - prereq:
    - test: fail1
l1:
  test.nop:
  - listen:
    - test: chg1
l2:
  cmd.wait:
  - name: echo hi
  - listen:
    - test: chg1
w2:
  cmd.wait:
  - name: echo w2
  - watch:
    - test: chg1
w3:
  cmd.wait:
  - name: echo w3
  - watch:
    - test: ok1
w4:
  cmd.run:
  - name: echo w4
  - watch:
    - test: chg1
m1:
  module.wait:
  - name: test.echo
  - text: hi
  - watch:
    - test: chg1
ev:
  test.nop:
  - fire_event: true
  - umask: 22
rt:
  test.fail_without_changes:
  - retry:
      attempts: 2
      interval: 0
rt2:
  test.nop:
  - retry: true
rt3:
  test.nop:
  - retry:
      attempts: 2
      interval: 0
      until: false
c1:
  test.fail_without_changes:
  - check_cmd:
    - 'true'
c2:
  test.nop:
  - check_cmd:
    - 'false'
u1:
  test.nop:
  - unless: 'true'
u2:
  test.nop:
  - unless: 'false'
u3:
  test.nop:
  - unless:
    - fun: test.ping
u5:
  test.nop:
  - unless:
    - 'true'
    - 'false'
u6:
  test.nop:
  - unless: true
u8:
  test.nop:
  - unless:
    - fun: test.echo
      args:
      - hi
      get_return: x
u9:
  test.nop:
  - unless:
    - true
o1:
  test.nop:
  - onlyif: 'true'
o2:
  test.nop:
  - onlyif: 'false'
o3:
  test.nop:
  - onlyif:
    - fun: test.false
o4:
  test.nop:
  - onlyif:
    - fun: test.ping
    - 'false'
o6:
  test.nop:
  - onlyif: false
o7:
  test.nop:
  - onlyif: true
o9:
  test.nop:
  - onlyif:
    - 1
cr1:
  test.nop:
  - creates: /tmp
cr2:
  test.nop:
  - creates:
    - /tmp
    - /nonexist
cr3:
  test.nop:
  - creates:
    - /tmp
    - /etc
cr4:
  test.nop:
  - creates: []
cu2:
  test.configurable_test_state:
  - result: false
    warnings:
    - a
    - b
sn:
  test.show_notification:
  - text: hey
e1:
  event.send:
  - data:
      a: b
mr:
  module.run:
  - test.echo:
    - text: hi
mr2:
  module.run:
  - name: test.echo
  - text: hi
mr3:
  module.run:
  - name: test.nosuch
mr4:
  module.run:
  - test.false: []
  - test.ping: []
mr5:
  module.run:
  - name: test.kwarg
  - kwargs:
      a: 1
mr6:
  module.run:
  - test.nosuch: []
cm1:
  cmd.run:
  - name: echo a; echo b >&2; exit 3
cm2:
  cmd.run:
  - name: echo 'changed=yes comment=x y=z'
  - stateful: true
cm3:
  cmd.run:
  - names:
    - echo 1
    - echo 2
  - creates: /tmp
cm4:
  cmd.run:
  - name: pwd
  - cwd: /nonexist
cm5:
  cmd.run:
  - name: pwd
  - cwd: /tmp
  - onlyif: 'false'
cm7:
  cmd.script:
  - name: salt://nosuch.sh
cm8:
  cmd.script:
  - source: salt://s.sh
  - args: a b
cm9:
  cmd.run:
  - name: 'false'
  - success_retcodes:
    - 1
cm10:
  cmd.run:
  - name: echo h
  - hide_output: true
cm11:
  cmd.run:
  - name: echo h
  - env: 3
cm12:
  cmd.run:
  - name: echo $A
  - env:
    - A: 1
cm14:
  cmd.run:
  - name: 'echo ''{"changed": true, "comment": "c", "foo": 1}'''
  - stateful: true
cm15:
  cmd.run:
  - name: echo nothing
  - stateful: true
ba:
  test.nosuch: []
sw:
  test.succeed_with_changes:
  - onlyif: 'true'
ch:
  test.check_pillar:
  - present: foo
pi:
  test.ping: []
