/** The separator characters of a message: MSH-1 and MSH-2. */
export interface Separators {
  field: string;
  component: string;
  repetition: string;
  escape: string;
  subcomponent: string;
}
