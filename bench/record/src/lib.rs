//! The record that every programmable server serialises on each request of the JSON workload.

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Office {
    #[serde(rename = "_id")]
    id: String,
    tenant_id: String,
    name: String,
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    latitude: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longitude: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone: Option<String>,
    #[serde(rename = "sendICalNotifications")]
    send_ical_notifications: bool,
    notification_email: String,
    catering_order_email: String,
    options: Availability,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Availability {
    available_from_hour: u8,
    available_until_hour: u8,
    alt_schedule: Vec<u8>,
    alt_available_from_hour: u8,
    alt_available_until_hour: u8,
}

impl Office {
    /// The record of the workload, as a value that is serialised anew each time.
    pub fn sample() -> Office {
        serde_json::from_str(include_str!("../../record.json")).expect("record.json is valid")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialises_to_what_it_was_read_from() {
        let text = serde_json::to_string(&Office::sample()).expect("serialises");
        assert_eq!(text, include_str!("../../record.json").trim());
    }
}
