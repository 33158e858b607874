//! Timers by a hashed wheel: cheap to set, cheap to forget.
//!
//! A deadline that moves away costs nothing: the connection remembers where it stands in the
//! wheel, and when that place comes up before the deadline it is simply put in again. Only a
//! deadline earlier than the place it has gets a new place. Deadlines are met at most one
//! granule (16 ms) and one tick of the kernel late, never early.

use crate::slab::Token;

/// Milliseconds per place of the wheel.
const GRANULE: u64 = 16;
/// Places; one turn is about 65 s, deadlines beyond it stay in for several turns.
const PLACES: usize = 4096;
const WORDS: usize = PLACES / 64;

/// An entry of the wheel whose time has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// Whose timer it stands for.
    pub(crate) token: Token,
    at: u64,
}

/// A timer's standing in the wheel, kept with what it belongs to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timer {
    /// When to act, in milliseconds; `None` when there is nothing to wait for.
    deadline: Option<u64>,
    /// The earliest place in the wheel that stands for this timer.
    placed: Option<u64>,
}

/// The wheel of one loop.
pub(crate) struct Wheel {
    places: Vec<Vec<Due>>,
    occupied: [u64; WORDS],
    /// The granule up to which everything was handled.
    cursor: u64,
}

impl Wheel {
    /// An empty wheel that starts at `now`, in milliseconds.
    pub(crate) fn new(now: u64) -> Wheel {
        let places = std::iter::repeat_with(Vec::new).take(PLACES).collect();
        Wheel {
            places,
            occupied: [0; WORDS],
            cursor: now / GRANULE,
        }
    }

    /// Sets, moves or (`None`) clears the deadline of `timer`.
    #[inline]
    pub(crate) fn set(&mut self, timer: &mut Timer, token: Token, deadline: Option<u64>) {
        timer.deadline = deadline;
        if let Some(at) = deadline {
            if timer.placed.is_none_or(|placed| at < placed) {
                timer.placed = Some(at);
                self.place(token, at);
            }
        }
    }

    fn place(&mut self, token: Token, at: u64) {
        // Rounded up, so that nothing is early; never behind the cursor, so that nothing is lost.
        let granule = at.div_ceil(GRANULE).max(self.cursor + 1);
        let index = granule as usize % PLACES;
        self.places[index].push(Due { token, at });
        self.occupied[index / 64] |= 1 << (index % 64);
    }

    /// Whether an entry that came up means that the deadline of its `timer` has passed. If the
    /// deadline has moved on meanwhile, the timer is put in again.
    pub(crate) fn fires(&mut self, timer: &mut Timer, due: Due, now: u64) -> bool {
        if timer.placed != Some(due.at) {
            return false;
        }
        timer.placed = None;
        match timer.deadline {
            Some(deadline) if deadline <= now => {
                timer.deadline = None;
                true
            }
            deadline => {
                self.set(timer, due.token, deadline);
                false
            }
        }
    }

    /// Turns the wheel to `now` and moves the entries whose time has come into `dues`. What each
    /// means is for [`Wheel::fires`] to say.
    pub(crate) fn turn(&mut self, now: u64, dues: &mut Vec<Due>) {
        let target = now / GRANULE;
        let steps = target.saturating_sub(self.cursor).min(PLACES as u64);
        self.cursor = self.cursor.max(target);
        for granule in target + 1 - steps..=target {
            let index = granule as usize % PLACES;
            let bit = 1 << (index % 64);
            if self.occupied[index / 64] & bit == 0 {
                continue;
            }
            let before = dues.len();
            dues.append(&mut self.places[index]);
            // Entries of later turns stay.
            let mut kept = before;
            for at in before..dues.len() {
                if dues[at].at > now {
                    self.places[index].push(dues[at]);
                } else {
                    dues.swap(kept, at);
                    kept += 1;
                }
            }
            dues.truncate(kept);
            if self.places[index].is_empty() {
                self.occupied[index / 64] &= !bit;
            }
        }
    }

    /// Milliseconds until the wheel wants to be turned, as seen at `now`; `None` when it is
    /// empty. May be too early (entries of later turns), never too late.
    pub(crate) fn wait(&self, now: u64) -> Option<u64> {
        let first = self.cursor as usize + 1;
        for step in 0..=WORDS {
            let word = (first / 64 + step) % WORDS;
            let mut bits = self.occupied[word];
            if step == 0 {
                bits &= !0 << (first % 64);
            } else if step == WORDS {
                bits &= !(!0 << (first % 64));
            }
            if bits != 0 {
                let index = word * 64 + bits.trailing_zeros() as usize;
                let ahead = (index + PLACES - first % PLACES) % PLACES;
                let at = (self.cursor + 1 + ahead as u64) * GRANULE;
                return Some(at.saturating_sub(now));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    struct Clock {
        wheel: Wheel,
        timers: HashMap<Token, Timer>,
    }

    impl Clock {
        fn new(now: u64) -> Clock {
            Clock {
                wheel: Wheel::new(now),
                timers: HashMap::new(),
            }
        }

        fn set(&mut self, id: u64, deadline: Option<u64>) {
            let token = Token::from_bits(id);
            let timer = self.timers.entry(token).or_default();
            self.wheel.set(timer, token, deadline);
        }

        fn fired(&mut self, now: u64) -> Vec<u64> {
            let mut dues = Vec::new();
            self.wheel.turn(now, &mut dues);
            dues.retain(|due| {
                let timer = self.timers.get_mut(&due.token).unwrap();
                self.wheel.fires(timer, *due, now)
            });
            dues.iter().map(|due| due.token.to_bits()).collect()
        }
    }

    #[test]
    fn fires_once_never_early_and_soon() {
        let mut clock = Clock::new(1_000);
        clock.set(1, Some(1_100));
        assert_eq!(clock.fired(1_099), []);
        assert_eq!(clock.fired(1_120), [1]);
        assert_eq!(clock.fired(200_000), []);
    }

    #[test]
    fn a_deadline_moved_away_waits_and_one_moved_nearer_does_not() {
        let mut clock = Clock::new(0);
        clock.set(1, Some(10_000));
        clock.set(1, Some(75_000));
        assert_eq!(clock.fired(10_050), []);
        clock.set(1, Some(10_200));
        assert_eq!(clock.fired(10_250), [1]);
        clock.set(2, Some(20_000));
        clock.set(2, None);
        assert_eq!(clock.fired(90_000), []);
    }

    #[test]
    fn deadlines_beyond_a_turn_are_met() {
        let mut clock = Clock::new(500);
        clock.set(7, Some(500 + 3 * 65_536));
        for now in (1_000..500 + 3 * 65_536).step_by(997) {
            assert_eq!(clock.fired(now), [], "at {now}");
        }
        assert_eq!(clock.fired(520 + 3 * 65_536), [7]);
    }

    #[test]
    fn the_wait_leads_to_the_deadline() {
        for start in [0, 5, 65_535, 1_234_567] {
            for ahead in [1, 15, 16, 17, 1_000, 65_000, 70_000] {
                let mut clock = Clock::new(start);
                assert_eq!(clock.wheel.wait(start), None);
                clock.set(3, Some(start + ahead));
                let mut now = start;
                let mut waits = 0;
                loop {
                    let wait = clock.wheel.wait(now).expect("not empty before it fired");
                    now += wait.max(1);
                    waits += 1;
                    if clock.fired(now) == [3] {
                        break;
                    }
                    assert!(waits < 5, "start {start}, ahead {ahead}");
                }
                assert!(now >= start + ahead && now <= start + ahead + 2 * GRANULE);
                assert_eq!(clock.wheel.wait(now), None);
            }
        }
    }
}
