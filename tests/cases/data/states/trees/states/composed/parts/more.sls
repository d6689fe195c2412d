composed_told:
  cmd.wait:
    - name: echo told >> /srv/composed.log
composed_here:
  file.managed:
    - name: /srv/composed.here
    - contents: |
        {{ sls }} {{ slspath }} {{ tpldir }} {{ tplfile }} {{ tpldot }} {{ slsdotpath }} {{ slscolonpath }}
