//! What a path or a query says, as values of other types than text.

use std::error::Error as StdError;
use std::str::FromStr;

use crate::http_error::HttpError;
use crate::request::Request;

impl Request {
    /// A parameter of the path as a number or whatever else can be parsed from text.
    ///
    /// ```
    /// use stepwell::Router;
    ///
    /// let mut router = Router::new();
    /// router.get("/offices/{id}", |req| {
    ///     let id: u32 = req.param_as("id")?; // 400 for /offices/seven
    ///     Ok(format!("office {id}"))
    /// });
    /// ```
    ///
    /// # Errors
    /// 400 if it cannot be parsed. The client is told the name of the parameter, the log why.
    ///
    /// # Panics
    /// As [`param`](Self::param).
    #[track_caller]
    pub fn param_as<T>(&self, name: &str) -> Result<T, HttpError>
    where
        T: FromStr,
        T::Err: Into<Box<dyn StdError + Send + Sync>>,
    {
        parse(name, self.param(name))
    }

    /// The first value of a name in the query, parsed from its text; `None` without the name.
    ///
    /// ```
    /// use stepwell::Router;
    ///
    /// let mut router = Router::new();
    /// router.get("/offices", |req| {
    ///     let page = req.query_as("page")?.unwrap_or(1_u32); // 400 for /offices?page=two
    ///     Ok(format!("page {page} of the offices"))
    /// });
    /// ```
    ///
    /// # Errors
    /// 400 if it cannot be parsed, an empty value included. The client is told the name, the log
    /// why.
    pub fn query_as<T>(&self, name: &str) -> Result<Option<T>, HttpError>
    where
        T: FromStr,
        T::Err: Into<Box<dyn StdError + Send + Sync>>,
    {
        self.query(name).map(|text| parse(name, text)).transpose()
    }
}

fn parse<T>(name: &str, text: &str) -> Result<T, HttpError>
where
    T: FromStr,
    T::Err: Into<Box<dyn StdError + Send + Sync>>,
{
    text.parse().map_err(|error: T::Err| {
        HttpError::bad_request(format!("the value of \"{name}\" is not valid")).source(error)
    })
}

#[cfg(test)]
mod tests {
    use crate::request::testing::get;
    use crate::{IntoResponse, Request, Response, Router};

    /// Status and body that a route for `/n/{n}` gives.
    #[track_caller]
    fn answer(target: &str, handler: fn(&mut Request) -> Response) -> (u16, String) {
        let mut router = Router::new();
        router.get("/n/{n}", handler);
        let mut req = get(target, "");
        let app = router.build().unwrap();
        let id = app.find(&mut req);
        let response = app.run(id, &mut req);
        let body = response.body_bytes().unwrap_or_default();
        let body = String::from_utf8(body.to_vec()).unwrap();
        (response.status_code(), body)
    }

    #[test]
    fn a_parameter_that_does_not_parse_is_the_clients_mistake() {
        let double = |req: &mut Request| {
            let double = |number: u8| format!("{}", u16::from(number) * 2);
            req.param_as("n").map(double).into_response()
        };
        let refused = (400, "the value of \"n\" is not valid".to_owned());
        assert_eq!(answer("/n/255", double), (200, "510".to_owned()));
        assert_eq!(answer("/n/%32", double), (200, "4".to_owned()));
        assert_eq!(answer("/n/256", double), refused);
        assert_eq!(answer("/n/1%22", double), refused);
    }

    #[test]
    fn a_query_may_lack_a_value_but_not_have_a_wrong_one() {
        let flag = |req: &mut Request| {
            let flag = req.query_as::<bool>("f");
            flag.map(|flag| format!("{flag:?}")).into_response()
        };
        let refused = (400, "the value of \"f\" is not valid".to_owned());
        assert_eq!(answer("/n/1", flag), (200, "None".to_owned()));
        assert_eq!(
            answer("/n/1?f=true&f=x", flag),
            (200, "Some(true)".to_owned())
        );
        assert_eq!(answer("/n/1?f=x&f=true", flag), refused);
        assert_eq!(answer("/n/1?f", flag), refused);
    }

    #[test]
    fn the_log_hears_why() {
        let req = get("/?n=-1", "");
        let error = req.query_as::<u8>("n").unwrap_err();
        assert!(error.cause().is_some());
    }
}
