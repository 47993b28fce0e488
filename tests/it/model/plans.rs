//! Plans.

use http::Method;
use serde_json::{Value, json};

use super::subscriptions::Subscription;
use super::wire::Time;
use super::world::{World, are, expect_record, one_in, pick, shown};
use crate::billing::course::{self, State as Course};
use crate::harness::random::Random;

pub struct Plan {
    pub token: Value,
    pub is_there: bool,
    pub course: course::Plan,
    pub name: Value,
    pub permissions: Value,
    created: Time,
}

impl Plan {
    pub fn path(&self) -> String {
        format!("/1/plans/{}", self.token.as_str().unwrap())
    }
}

impl World {
    pub fn plan(&self, plan: &Plan) -> Value {
        let of = |state| {
            let is_of =
                |it: &&Subscription| self.plans[it.plan].token == plan.token && it.course.state == state;
            self.subscriptions.iter().filter(is_of).count()
        };
        json!({
            "token": plan.token, "name": plan.name, "amount": plan.course.amount, "setup_amount": plan.course.setup,
            "trial_amount": plan.course.trial_amount, "currency": "AUD", "interval": plan.course.every.0,
            "intervals": plan.course.intervals, "trial_interval": plan.course.trial.0,
            "interval_unit": plan.course.every.1, "trial_interval_unit": plan.course.trial.1,
            "customer_permissions": plan.permissions, "created_at": shown(plan.created),
            "subscription_counts": {
                "trial": of(Course::Trial), "active": of(Course::Active), "cancelling": of(Course::Cancelling),
                "cancelled": of(Course::Cancelled),
            },
        })
    }

    pub async fn adds_plan(&mut self, random: &mut Random) {
        let course = course::plan(random);
        let mut parameters = json!({
            "name": "Coffee plan", "amount": course.amount, "setup_amount": course.setup,
            "trial_amount": course.trial_amount, "interval": course.every.0, "interval_unit": course.every.1,
            "intervals": course.intervals, "trial_interval": course.trial.0, "trial_interval_unit": course.trial.1,
        });
        let mut permissions = json!(["cancel"]);
        if one_in(random, 3) {
            permissions = json!([]);
            parameters["customer_permissions"] = permissions.clone();
        }
        let wrong = match random.below(12) {
            0 => Some(("interval", json!(0))),
            1 => Some(("interval_unit", json!("fortnight"))),
            2 => Some(("amount", json!(99))),
            3 => Some(("name", json!(""))),
            _ => None,
        };
        if let Some((param, value)) = &wrong {
            parameters[param] = value.clone();
        }
        let answer = self.wire.change(random, Method::POST, "/1/plans", &[], &parameters).await;
        if let Some((param, _)) = wrong {
            let messages = answer.refused(422, "unprocessable_entity")["messages"].clone();
            let params: Vec<_> = messages.as_array().unwrap().iter().map(|it| &it["param"]).collect();
            assert_eq!(params, [param], "{messages}");
            return;
        }
        let name = parameters["name"].clone();
        self.plans.push(Plan {
            token: "?plan_".into(),
            is_there: true,
            course,
            name,
            permissions,
            created: self.now,
        });
        let plan = self.plans.len() - 1;
        let record = expect_record(&answer, 201, self.plan(&self.plans[plan]));
        self.plans[plan].token = record["token"].clone();
        self.happens("plan.created", record);
    }

    /// A plan gets another name or permission, or goes.
    pub async fn changes_plan(&mut self, random: &mut Random) {
        let Some(plan) = pick(random, self.plans.len()) else { return };
        let path = self.plans[plan].path();
        if one_in(random, 2) {
            let (name, permissions) = (json!("Tea plan"), json!(["cancel"]));
            let changes = json!({ "name": name, "customer_permissions": permissions });
            let answer = self.wire.change(random, Method::PUT, &path, &[], &changes).await;
            if !self.plans[plan].is_there {
                return answer.not_found();
            }
            (self.plans[plan].name, self.plans[plan].permissions) = (name, permissions);
            expect_record(&answer, 200, self.plan(&self.plans[plan]));
            return;
        }
        let answer = self.wire.change(random, Method::DELETE, &path, &[], &Value::Null).await;
        if !self.plans[plan].is_there {
            return answer.not_found();
        }
        let record = self.plan(&self.plans[plan]);
        let counts = &record["subscription_counts"];
        if counts["trial"] != 0 || counts["active"] != 0 {
            answer.refused(400, "cannot_delete_plan");
            return;
        }
        answer.ok(204);
        self.plans[plan].is_there = false;
        self.happens("plan.deleted", record);
    }

    /// The subscriptions to a plan.
    pub async fn looks_at_plan(&mut self, plan: usize) {
        let path = format!("{}/subscriptions", self.plans[plan].path());
        if !self.plans[plan].is_there {
            return self.wire.get(&path).await.not_found();
        }
        let expected = self.listed_subscriptions(|it| it.plan == plan);
        are("subscriptions", &self.wire.all(&path, 3, false).await, &expected);
    }
}
