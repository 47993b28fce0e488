//! The first process brings the schema up to date, however often and however suddenly processes end.

use std::time::Duration;

use crate::harness::operated;
use crate::harness::process::pause;

operated! {
    async fn many_may_migrate_an_empty_database_at_once(installed) {
        let running: Vec<_> = (0..4).map(|_| installed.program().arg("migrate").spawn().unwrap()).collect();
        for mut one in running {
            assert_eq!(one.wait().unwrap().code(), Some(0));
        }
        assert_eq!(installed.run(&["migrate"]), (Some(0), String::new(), String::new()));
        let server = installed.serve();
        server.pay(&server.keys().0).ok(201);
        assert_eq!(installed.run(&["migrate"]), (Some(0), String::new(), String::new()));
        server.stopped();
    }

    async fn a_migration_that_is_killed_anywhere_is_finished_by_the_next_one(installed) {
        for moment in [1, 3, 6, 10, 15, 20, 30, 40, 60, 80, 120, 180] {
            let mut killed = installed.program().arg("migrate").spawn().unwrap();
            pause(Duration::from_millis(moment));
            killed.kill().unwrap();
            killed.wait().unwrap();
        }
        assert_eq!(installed.run(&["migrate"]), (Some(0), String::new(), String::new()));
        let server = installed.serve();
        server.pay(&server.keys().0).ok(201);
        server.stopped();
        assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
    }
}
