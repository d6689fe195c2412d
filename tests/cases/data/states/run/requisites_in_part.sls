fails: test.fail_with_changes
moves: test.succeed_with_changes
rests: test.nop
moved or failed: {test.nop: [{onchanges: [{test: fails}, {test: moves}]}]}
any moved or failed: {test.nop: [{onchanges_any: [{test: fails}, {test: moves}]}]}
one kind moved: {test.nop: [{onchanges: [{test: rests}]}, {onchanges_any: [{test: moves}]}]}
none moved: {test.nop: [{onchanges: [{test: rests}, {test: fails}]}, {onchanges_any: [{test: rests}]}]}
no all: {test.nop: [{onchanges_all: [{test: rests}]}, {require_all: [{test: fails}]}, {watch_all: [{test: later}]}]}
one kind failed: {test.nop: [{onfail: [{test: rests}]}, {onfail_any: [{test: fails}]}]}
both kinds failed: {test.nop: [{onfail: [{test: rests}, {test: fails}]}, {onfail_any: [{test: fails}]}]}
later: test.succeed_with_changes
