export const DATABASE_FILE = "sluice.db";
