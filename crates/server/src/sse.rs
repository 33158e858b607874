//! Server-Sent Events: the text of one event (HTML Living Standard, "event stream" format).

use std::borrow::Cow;
use std::io;
use std::time::Duration;

/// An event for an event stream.
///
/// ```
/// use stepwell::Event;
///
/// let event = Event::data("12:00\n13:00").event("clock").id("7");
/// assert_eq!(event.to_text().unwrap(), "event: clock\nid: 7\ndata: 12:00\ndata: 13:00\n\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    data: Option<Cow<'static, str>>,
    event: Option<Cow<'static, str>>,
    id: Option<Cow<'static, str>>,
    retry: Option<Duration>,
    comment: Option<Cow<'static, str>>,
}

impl Event {
    /// An event with data; lines of it arrive joined by `\n`, whatever ended them here.
    pub fn data(data: impl Into<Cow<'static, str>>) -> Self {
        Self {
            data: Some(data.into()),
            ..Self::default()
        }
    }

    /// An event with a value as JSON.
    ///
    /// # Errors
    /// If the value cannot be serialised.
    pub fn json<T: serde::Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        Ok(Self::data(serde_json::to_string(value)?))
    }

    /// A comment, which clients pass over: keeps proxies from taking the connection for dead.
    pub fn comment(comment: impl Into<Cow<'static, str>>) -> Self {
        Self {
            comment: Some(comment.into()),
            ..Self::default()
        }
    }

    /// Names the event; clients listen by name. Without it the name is `message`.
    #[must_use]
    pub fn event(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.event = Some(name.into());
        self
    }

    /// The id that a client sends back as `Last-Event-ID` when it reconnects.
    #[must_use]
    pub fn id(mut self, id: impl Into<Cow<'static, str>>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// How long the client is to wait before it reconnects, in whole milliseconds.
    #[must_use]
    pub fn retry(mut self, time: Duration) -> Self {
        self.retry = Some(time);
        self
    }

    /// The event as it is sent, with the empty line that ends it.
    ///
    /// # Errors
    /// `InvalidInput` if name or id contain a line break or NUL: a client would see other fields.
    pub fn to_text(&self) -> io::Result<String> {
        let mut text = String::new();
        self.write_to(&mut text)?;
        Ok(text)
    }

    /// Appends the event to `out`; nothing if it is refused.
    pub(crate) fn write_to(&self, out: &mut String) -> io::Result<()> {
        let single = [("event", &self.event), ("id", &self.id)];
        for (field, value) in single {
            if value
                .as_ref()
                .is_some_and(|value| value.contains(['\r', '\n', '\0']))
            {
                let message = format!("the {field} of an event has a line break or NUL");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        }
        if let Some(comment) = &self.comment {
            push_lines(out, "", comment);
        }
        for (field, value) in single {
            if let Some(value) = value {
                push_line(out, field, value);
            }
        }
        if let Some(time) = self.retry {
            push_line(out, "retry", &time.as_millis().to_string());
        }
        if let Some(data) = &self.data {
            push_lines(out, "data", data);
        }
        out.push('\n');
        Ok(())
    }
}

fn push_line(out: &mut String, field: &str, value: &str) {
    out.push_str(field);
    out.push_str(": ");
    out.push_str(value);
    out.push('\n');
}

/// One line for each line of the text, ended by CR LF, LF or CR as a client would split it.
fn push_lines(out: &mut String, field: &str, text: &str) {
    let mut rest = text;
    loop {
        let (line, next) = match rest.find(['\r', '\n']) {
            None => (rest, None),
            Some(end) => {
                let after = &rest[end..]; // `end` is the place of an ASCII character
                let next = after.strip_prefix("\r\n").unwrap_or_else(|| &after[1..]);
                (&rest[..end], Some(next))
            }
        };
        push_line(out, field, line);
        match next {
            Some(next) => rest = next,
            None => break,
        }
    }
}

impl From<&'static str> for Event {
    fn from(data: &'static str) -> Self {
        Self::data(data)
    }
}

impl From<String> for Event {
    fn from(data: String) -> Self {
        Self::data(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_data_where_a_client_would() {
        for (data, expected) in [
            ("", "data: \n\n"),
            ("a", "data: a\n\n"),
            ("a\nb", "data: a\ndata: b\n\n"),
            ("a\r\nb\rc\n", "data: a\ndata: b\ndata: c\ndata: \n\n"),
            ("\n\r", "data: \ndata: \ndata: \n\n"),
            (
                "id: 1\n\nevent: x",
                "data: id: 1\ndata: \ndata: event: x\n\n",
            ),
        ] {
            assert_eq!(Event::data(data).to_text().unwrap(), expected, "{data:?}");
        }
    }

    #[test]
    fn writes_every_field() {
        let event = Event::data("x")
            .event("tick")
            .id("9")
            .retry(Duration::from_millis(1500));
        assert_eq!(
            event.to_text().unwrap(),
            "event: tick\nid: 9\nretry: 1500\ndata: x\n\n"
        );
        assert_eq!(
            Event::comment("still\nhere").to_text().unwrap(),
            ": still\n: here\n\n"
        );
        assert_eq!(
            Event::json(&[1, 2]).unwrap().to_text().unwrap(),
            "data: [1,2]\n\n"
        );
    }

    #[test]
    fn refuses_a_name_or_id_that_would_be_another_field() {
        for bad in ["a\nb", "a\rb", "a\0b"] {
            assert!(Event::data("x").event(bad).to_text().is_err(), "{bad:?}");
            assert!(Event::data("x").id(bad).to_text().is_err(), "{bad:?}");
        }
    }
}
