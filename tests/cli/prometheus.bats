#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The alarm rules and the board of examples/prometheus, on a Prometheus of Debian that scrapes redlock-exporter.
# shellcheck disable=SC2154 # bats and the helpers set them
load helper
load exporter_helper

rules=$BATS_TEST_DIRNAME/../../examples/prometheus

setup() {
	if ! command -v promtool || ! command -v prometheus; then
		skip "prometheus of Debian is missing: apt-get install prometheus"
	fi
}

teardown() {
	[ -z "${prometheus-}" ] || { kill -s TERM "$prometheus" && wait "$prometheus"; }
	stop_exporter
	[ -z "${made_here-}" ] || { export REDLOCK_URLS=local; stop_cluster; }
}

# Scrapes the exporter each second; minutes of the rules are seconds.
start_prometheus() {
	sed 's/for: [0-9]*m$/for: 2s/; s/> 120 /> 3 /' "$rules/redlock-rules.yml" >"$sandbox/rules.yml"
	web=$(free_port)
	cat >"$sandbox/prometheus.yml" <<-END
		global: {scrape_interval: 1s, evaluation_interval: 1s}
		rule_files: [$sandbox/rules.yml]
		scrape_configs:
		  - job_name: redlock
		    static_configs: [{targets: ["127.0.0.1:$port"]}]
	END
	promtool check config "$sandbox/prometheus.yml"
	prometheus --config.file="$sandbox/prometheus.yml" --storage.tsdb.path="$sandbox/data" \
		--web.listen-address="127.0.0.1:$web" >"$sandbox/prometheus.log" 2>&1 3>&- &
	prometheus=$!
	until curl -fs "http://127.0.0.1:$web/-/ready" >/dev/null; do
		kill -0 "$prometheus" || { cat "$sandbox/prometheus.log"; return 1; }
		sleep 0.2
	done
}

# firing ALERT: whether it fires.
firing() {
	curl -fsS "http://127.0.0.1:$web/api/v1/alerts" |
		python3 -c 'import json, sys
sys.exit(not any(a["state"] == "firing" and a["labels"]["alertname"] == sys.argv[1] for a in json.load(sys.stdin)["data"]["alerts"]))' "$1"
}

@test "the rules do what their tests say" {
	promtool check rules "$rules/redlock-rules.yml"
	(cd "$rules" && promtool test rules test.yml)
}

@test "long: an alarm fires when a node stops, and ends when it is back; the board's queries have answers" {
	[ -n "${REDLOCK_EXPORTER-}" ] || skip "redlock-exporter was not built: libmicrohttpd-dev is missing"
	[ -n "${REDLOCK_LONG-}" ] || skip "by ./check --long"
	start_cluster 3
	use_cluster_urls 3
	"$REDLOCK_BIN" acquire -q -t 600s job
	start_exporter --lock job
	start_prometheus
	until curl -fsS "http://127.0.0.1:$web/api/v1/query?query=redlock_nodes_up" | grep -q '"3"'; do sleep 0.2; done
	run -1 firing RedlockOneFailureFromNoQuorum
	kill -s STOP "$(cat "$XDG_RUNTIME_DIR/redlock/cluster/node-1/redis.pid")"
	until firing RedlockOneFailureFromNoQuorum; do sleep 0.2; done
	run -1 firing RedlockNoQuorum
	kill -s CONT "$(cat "$XDG_RUNTIME_DIR/redlock/cluster/node-1/redis.pid")"
	while firing RedlockOneFailureFromNoQuorum; do sleep 0.2; done
	run -1 firing RedlockExporterBlind
	python3 - "$rules/board.json" "http://127.0.0.1:$web" <<-'END'
		import json, sys, urllib.parse, urllib.request
		queries = [t["expr"] for p in json.load(open(sys.argv[1]))["panels"] for t in p["targets"]]
		assert len(queries) > 10
		for query in queries:
		    with urllib.request.urlopen(sys.argv[2] + "/api/v1/query?query=" + urllib.parse.quote(query)) as answer:
		        data = json.load(answer)
		    assert data["status"] == "success", query
		    assert data["data"]["result"] or "redlock_job_" in query, query + " has no answer"
	END
	stop_exporter
	until firing RedlockExporterBlind; do sleep 0.2; done # its series are gone
}
