/**
 * One reading of the log. Many messages, so that several changes of one user are written once; yet no more than the store reads in a few
 * milliseconds, during which commits wait.
 */
export const READ_LIMITS = { messages: 4_000, bytes: 1_024 * 1_024 } as const;
