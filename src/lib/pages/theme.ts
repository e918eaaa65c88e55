import { readFileSync } from 'node:fs';

/** The style sheet that all our pages share: palette, light and dark, and basics. */
export const THEME: string = readFileSync(new URL('theme.css', import.meta.url), 'utf8');
