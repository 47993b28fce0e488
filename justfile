# Checks formatting and lints, as `.ci/run` does before the tests.
check:
    cargo fmt --all --check && cargo clippy --workspace --all-targets --locked -- -D warnings

# Runs every test on SQLite and on PostgreSQL.
test:
    cargo test --workspace --locked

# Rewrites `openapi.yaml` and the generated parts of the pages.
docs:
    UPDATE_DOCUMENTS=1 cargo test --locked --test it -- documents:: site::

# Measures payments and reads, as `docs/measuring.md` describes.
bench:
    cargo bench --locked --bench speed

# Makes the release in `target/dist`.
release:
    deploy/release.sh
