{%- set tplroot = tpldir.split('/')[0] %}
{%- set sls_config = tplroot ~ '.config.file' %}
{%- from tplroot ~ "/map.jinja" import beacon with context %}
include:
  - {{ sls_config }}

beacon-reload:
  cmd.run:
    - name: echo reload {{ beacon.release | default('unknown') }} >> /srv/beacon.log
    - onchanges:
      - sls: {{ sls_config }}

beacon-mark:
  file.managed:
    - name: /srv/beacon.mark
    - contents: {{ beacon.flavour }}
    - require:
      - sls: {{ sls_config }}
