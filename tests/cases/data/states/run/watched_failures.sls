# What watches and has failed without changes is called all the same; who listens hears of failures.
changed:
  test.succeed_with_changes

fails_with_changes:
  test.fail_with_changes

waits_and_fails_its_check:
  cmd.wait:
    - name: echo waited
    - check_cmd:
      - 'false'
    - watch:
      - test: changed

listens_to_a_failure:
  cmd.wait:
    - name: echo heard
    - listen:
      - test: fails_with_changes

listens_to_a_quiet_failure:
  cmd.wait:
    - name: echo unheard
    - listen:
      - test: fails_without_changes

fails_without_changes:
  test.fail_without_changes
