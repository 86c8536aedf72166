/** Profiles that are looked at one after another are read in parts of about so many bytes: they may be anything up to 20 times that in memory. */
export const SCANNED_BYTES = 2 * 1_024 * 1_024;
