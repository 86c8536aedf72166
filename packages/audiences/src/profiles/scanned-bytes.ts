/** Scans of profiles read parts of about this many bytes. In memory they may take up to 20 times as much. */
export const SCANNED_BYTES = 2 * 1_024 * 1_024;
