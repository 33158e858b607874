#!/bin/sh
# curl against the two examples; see `run`.
set -u

# check NAME COMMAND...: the command must succeed.
check() {
    name=$1
    shift
    if why=$("$@" 2>&1); then
        echo "ok $name"
    else
        echo "FAIL $name: $(printf '%s' "$why" | tr '\n' ' ' | cut -c 1-300)"
    fi
}

get() { [ "$(curl -sS --max-time 60 "$ECHO_URL/")" = OK ]; }

head_only() {
    curl -sS --max-time 60 -I "$ECHO_URL/" >"$WORK/head" &&
        grep -qi '^content-length: 2' "$WORK/head"
}

post() {
    curl -sS --max-time 60 --data-binary "@$WORK/10mb" "$ECHO_URL/" -o "$WORK/back" "$@" &&
        cmp "$WORK/10mb" "$WORK/back"
}

post_expect() { post -H 'Expect: 100-continue'; }

post_chunked() { post -H 'Transfer-Encoding: chunked'; }

upload_stdin() {
    said=$(curl -sS --max-time 60 -T - "$STREAM_URL/count" <"$WORK/10mb")
    case $said in
        "10485760 bytes, "*) ;;
        *) echo "said: $said"; return 1 ;;
    esac
}

keep_alive() {
    curl -sS --max-time 60 -w '%{num_connects}\n' "$ECHO_URL/" "$ECHO_URL/" "$ECHO_URL/" \
        -o /dev/null -o /dev/null -o /dev/null >"$WORK/connects"
    [ "$(tr -d '\n' <"$WORK/connects")" = 100 ] || { cat "$WORK/connects"; return 1; }
}

http10() { [ "$(curl -sS --max-time 60 -0 "$ECHO_URL/")" = OK ]; }

decode() {
    curl -sS --max-time 60 --compressed -H "Accept-Encoding: $1" -D "$WORK/head" \
        "$STREAM_URL/numbers?upto=100000" -o "$WORK/numbers" || return 1
    grep -qi "^content-encoding: $1" "$WORK/head" || { cat "$WORK/head"; return 1; }
    seq 100000 | cmp - "$WORK/numbers"
}

events() {
    curl -sSN --max-time 60 "$STREAM_URL/clock" 2>/dev/null | head -n 3 >"$WORK/events"
    grep -q '^event: tick' "$WORK/events" && grep -q '^data: ' "$WORK/events"
}

early_close() {
    for _ in 1 2 3; do
        curl -sS --max-time 60 "$STREAM_URL/numbers?upto=1000000000" 2>/dev/null |
            head -n 10 >"$WORK/ten"
        seq 10 | cmp - "$WORK/ten" || return 1
    done
    curl -sS --max-time 60 "$STREAM_URL/numbers?upto=3" >"$WORK/three"
    seq 3 | cmp - "$WORK/three"
}

not_found() {
    [ "$(curl -sS --max-time 60 -o /dev/null -w '%{http_code}' "$STREAM_URL/nowhere")" = 404 ]
}

check get get
check head head_only
check post post
check post-expect post_expect
check post-chunked post_chunked
check upload-stdin upload_stdin
check keep-alive keep_alive
check http-1.0 http10
for coding in gzip br zstd; do
    # curl says what it can decode.
    case $(curl --version | sed -n 's/^Features://p' | sed 's/libz/gzip/; s/brotli/br/') in
        *" $coding "* | *" $coding") check "decode-$coding" decode "$coding" ;;
        *) echo "skipped decode-$coding: this curl does not know it" ;;
    esac
done
check events events
check early-close early_close
check not-found not_found
