//! Division of lists for calls with a limited size.

/// Consecutive items, at most `most` and together at most `limit` in size. An item above the limit is alone.
pub fn chunks_within<T>(items: &[T], most: usize, limit: usize, size: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let (mut chunks, mut begin, mut total) = (vec![], 0, 0);
    for (number, item) in items.iter().enumerate() {
        let size = size(item);
        if number > begin && (number - begin == most || total + size > limit) {
            chunks.push(&items[begin..number]);
            (begin, total) = (number, 0);
        }
        total += size;
    }
    if begin < items.len() {
        chunks.push(&items[begin..]);
    }
    chunks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_item_is_in_one_chunk_in_order_and_no_chunk_could_take_the_next_item(
            items in prop::collection::vec(0_usize..60, 0..40)
        ) {
            let chunks = chunks_within(&items, 4, 100, |item| *item);
            prop_assert_eq!(chunks.concat(), items.clone());
            for chunk in &chunks {
                prop_assert!(!chunk.is_empty() && chunk.len() <= 4);
                prop_assert!(chunk.len() == 1 || chunk.iter().sum::<usize>() <= 100);
            }
            for pair in chunks.windows(2) {
                prop_assert!(pair[0].len() == 4 || pair[0].iter().sum::<usize>() + pair[1][0] > 100);
            }
        }
    }

    #[test]
    fn an_item_above_the_limit_is_alone() {
        assert_eq!(chunks_within(&[1, 200, 1], 4, 100, |item| *item), [[1].as_slice(), &[200], &[1]]);
        assert_eq!(chunks_within(&[200, 1], 4, 100, |item| *item), [[200], [1]]);
    }
}
