//! The table of a loop's connections. Tokens carry a generation, so that whoever comes late with
//! the token of a closed connection finds nothing, never a stranger.

/// Names one connection of one loop, for as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    index: u32,
    generation: u32,
}

impl Token {
    /// The token as the 64 bits that the kernel carries for us.
    #[inline]
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The reverse of [`Token::to_bits`].
    #[inline]
    pub fn from_bits(bits: u64) -> Token {
        Token {
            index: bits as u32,
            generation: (bits >> 32) as u32,
        }
    }
}

enum Place<T> {
    /// With the index of the next free place.
    Free(Option<u32>),
    Used(T),
}

struct Entry<T> {
    generation: u32,
    place: Place<T>,
}

/// Values under generation-checked tokens; insertion, look-up and removal in constant time.
pub struct Slab<T> {
    entries: Vec<Entry<T>>,
    free: Option<u32>,
    len: usize,
}

/// Indices from here on are the loop's own (listeners, wake-up).
pub(crate) const RESERVED: u32 = 0xffff_0000;

impl<T> Slab<T> {
    /// An empty table.
    pub fn new() -> Slab<T> {
        Slab {
            entries: Vec::new(),
            free: None,
            len: 0,
        }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts in what `make` answers, which gets to know its token before. `None` when the table
    /// is full (4,294,901,760 places).
    pub fn insert_with(&mut self, make: impl FnOnce(Token) -> T) -> Option<Token> {
        let index = match self.free {
            Some(index) => index,
            None => u32::try_from(self.entries.len())
                .ok()
                .filter(|index| *index < RESERVED)?,
        };
        if self.free.is_none() {
            self.entries.push(Entry {
                generation: 0,
                place: Place::Free(None),
            });
        }
        let entry = self.entries.get_mut(index as usize)?;
        let token = Token {
            index,
            generation: entry.generation,
        };
        if let Place::Free(next) = entry.place {
            self.free = next;
        }
        entry.place = Place::Used(make(token));
        self.len += 1;
        Some(token)
    }

    /// The value under a token, if it still lives.
    #[inline]
    pub fn get_mut(&mut self, token: Token) -> Option<&mut T> {
        match self.entries.get_mut(token.index as usize) {
            Some(Entry {
                generation,
                place: Place::Used(value),
            }) if *generation == token.generation => Some(value),
            _ => None,
        }
    }

    /// Takes the value out; its token is void from now on.
    pub fn remove(&mut self, token: Token) -> Option<T> {
        self.get_mut(token)?;
        let entry = self.entries.get_mut(token.index as usize)?;
        let place = std::mem::replace(&mut entry.place, Place::Free(self.free));
        entry.generation = entry.generation.wrapping_add(1);
        self.free = Some(token.index);
        self.len -= 1;
        match place {
            Place::Used(value) => Some(value),
            Place::Free(_) => None,
        }
    }

    /// The tokens of all values.
    pub fn tokens(&self) -> impl Iterator<Item = Token> + '_ {
        self.entries
            .iter()
            .zip(0u32..)
            .filter_map(|(entry, index)| match entry.place {
                Place::Used(_) => Some(Token {
                    index,
                    generation: entry.generation,
                }),
                Place::Free(_) => None,
            })
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_dies_with_its_value() {
        let mut slab = Slab::new();
        let first = slab.insert_with(|_| "first").unwrap();
        assert_eq!(slab.remove(first), Some("first"));
        let second = slab.insert_with(|_| "second").unwrap();
        assert_eq!(
            second.to_bits() as u32,
            first.to_bits() as u32,
            "the place is used again"
        );
        assert!(slab.get_mut(first).is_none());
        assert!(slab.remove(first).is_none());
        assert_eq!(
            slab.get_mut(Token::from_bits(second.to_bits())),
            Some(&mut "second")
        );
        assert_eq!(slab.len(), 1);
    }

    #[test]
    fn free_places_are_used_before_new_ones() {
        let mut slab = Slab::new();
        let tokens: Vec<_> = (0..4).map(|n| slab.insert_with(|_| n).unwrap()).collect();
        slab.remove(tokens[1]);
        slab.remove(tokens[3]);
        let again: Vec<_> = (4..7).map(|n| slab.insert_with(|_| n).unwrap()).collect();
        assert_eq!(again[0].to_bits() as u32, 3);
        assert_eq!(again[1].to_bits() as u32, 1);
        assert_eq!(again[2].to_bits() as u32, 4);
        let all: Vec<_> = slab.tokens().collect();
        assert_eq!(all, [tokens[0], again[1], tokens[2], again[0], again[2]]);
    }
}
