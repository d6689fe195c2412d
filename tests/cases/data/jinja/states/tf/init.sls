# -*- coding: utf-8 -*-
# vim: ft=sls
{#- Get the `tplroot` from `tpldir` #}
{%- set tplroot = tpldir.split("/")[0] %}
{%- from tplroot ~ "/map.jinja" import tf with context %}
{%- from tplroot ~ "/libtofs.jinja" import files_switch with context %}
tf-config-file:
  test.nop:
    - name: {{ tf.config }}
    - source: {{ files_switch(["x.conf"], lookup="l") }}
    - group: {{ tf.rootgroup }}
    - pkg: {{ tf.pkg | json }}
    - svc: {{ tf.service.enable }}
    - context:
        tf: {{ tf | json }}
  {%- if tf.pkg.get('extra') %}
    - extra: {{ tf.pkg.extra|yaml }}
  {%- endif %}
