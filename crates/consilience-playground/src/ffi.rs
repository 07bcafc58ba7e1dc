//! Requests and answers through the linear memory of a WebAssembly module.
//!
//! The page calls [`take`] for a buffer, writes its request into it and passes it to [`call`], which
//! frees it. The answer is a buffer whose first four bytes are the length of the rest, least
//! significant byte first; the page reads it and calls [`release`].

// Memory that two languages share cannot be expressed without raw pointers.
#![allow(unsafe_code)]

use std::ptr;

/// Number of bytes of the length before an answer.
const LENGTH: usize = 4;

/// A buffer of `length` bytes for a request.
#[unsafe(no_mangle)]
extern "C" fn take(length: usize) -> *mut u8 {
    Box::leak(vec![0; length].into_boxed_slice()).as_mut_ptr()
}

/// Answers the request in a buffer from [`take`] and frees that buffer.
///
/// # Safety
/// `request` comes from [`take`] with the same `length` and was not passed before.
#[unsafe(no_mangle)]
unsafe extern "C" fn call(request: *mut u8, length: usize) -> *mut u8 {
    // SAFETY: `take` leaked a boxed slice of this length at this address.
    let request = unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(request, length)) };
    let answer = crate::answer(&request);
    let length = u32::try_from(answer.len()).expect("the memory has 32-bit addresses");
    let framed = [&length.to_le_bytes()[..], &answer].concat();
    Box::leak(framed.into_boxed_slice()).as_mut_ptr()
}

/// Frees an answer of [`call`].
///
/// # Safety
/// `answer` comes from [`call`] and was not released before.
#[unsafe(no_mangle)]
unsafe extern "C" fn release(answer: *mut u8) {
    // SAFETY: `call` wrote the length into the first four bytes of the slice it leaked.
    unsafe {
        let length = u32::from_le_bytes(*answer.cast::<[u8; LENGTH]>()) as usize;
        drop(Box::from_raw(ptr::slice_from_raw_parts_mut(answer, LENGTH + length)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_back_through_memory() {
        let request = b"not json";
        let buffer = take(request.len());
        // SAFETY: the buffer has the request's length and is passed on once.
        let answer = unsafe {
            buffer.copy_from_nonoverlapping(request.as_ptr(), request.len());
            let framed = call(buffer, request.len());
            let length = u32::from_le_bytes(*framed.cast::<[u8; LENGTH]>()) as usize;
            let answer = std::slice::from_raw_parts(framed.add(LENGTH), length).to_vec();
            release(framed);
            answer
        };
        assert!(answer.starts_with(br#"{"error":"the request cannot be read"#), "{answer:?}");
    }
}
