//! A record as services that are asked for JSON have it.

use serde::Serialize;

/// A place of a company.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Office {
    #[serde(rename = "_id")]
    id: &'static str,
    tenant_id: &'static str,
    name: &'static str,
    address: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    latitude: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longitude: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone: Option<&'static str>,
    #[serde(rename = "sendICalNotifications")]
    send_ical_notifications: bool,
    notification_email: &'static str,
    catering_order_email: &'static str,
    options: Options,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    available_from_hour: u8,
    available_until_hour: u8,
    alt_schedule: Vec<&'static str>,
    alt_available_from_hour: u8,
    alt_available_until_hour: u8,
}

/// The one record there is.
pub(crate) fn record() -> Office {
    Office {
        id: "5f1b0c9e8d3a4b2f6c7e1a90",
        tenant_id: "tenant-0042",
        name: r#"Stairway House "North\South""#,
        address: "Stairway House, second courtyard on the left behind the old pumping station, \
            staircases B to F, floors three to seven, 128 Waterside Crescent, corner of Cistern \
            Lane, Upper Millfield Quarter, 10439 Berlin; deliveries only through the gate in \
            Cistern Lane, weekdays from seven to eleven, and please ring twice.",
        latitude: Some(52.548_271),
        longitude: Some(13.413_962),
        email: Some("north.south@stairway.example"),
        phone: Some("+49 30 5550 0142"),
        send_ical_notifications: true,
        notification_email: "reception@stairway.example\nfacilities@stairway.example",
        catering_order_email: "kitchen@stairway.example",
        options: Options {
            available_from_hour: 7,
            available_until_hour: 20,
            alt_schedule: vec!["saturday", "sunday", "public-holiday"],
            alt_available_from_hour: 10,
            alt_available_until_hour: 16,
        },
    }
}
