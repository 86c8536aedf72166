/** One line of a chart. */
export interface Series {
  readonly label: string;
  /** A custom property of `tokens.css`. */
  readonly color: "--accent" | "--good" | "--bad" | "--wait" | "--quiet";
  readonly values: readonly (number | null)[];
  readonly fill?: boolean;
}
