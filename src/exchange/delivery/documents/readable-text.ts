import { momentText } from '../../records/rules/words.ts';
import names from './code-system-names.json' with { type: 'json' };

const CODE_SYSTEMS: Readonly<Record<string, string>> = names;

/** A date with a time; plain digits only with a time zone, because without one they may be an identifier. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?$/;
const HL7_TIME = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(?:\d{2}(?:\.\d+)?)?([+-]\d{2})(\d{2})$/;
const CODE = /^(https?:\/\/[^\s|]+?)\/?[\s|]+(\S{1,40})$/;

/**
 * A text that is only a time or only a code, as a person writes it: `15 Mar 2021, 15:45 UTC`, `SNOMED CT 410620009`. Other
 * texts are unchanged.
 */
export function readableText(text: string): string {
  const plain = text.trim();
  const time = TIME.test(plain) ? plain : plain.replace(HL7_TIME, '$1-$2-$3T$4:$5$6:$7');
  if (TIME.test(time)) return isTime(time) ? (momentText(time) ?? text) : text;
  const [, system = '', code = ''] = CODE.exec(plain) ?? [];
  const name = Object.hasOwn(CODE_SYSTEMS, system) ? CODE_SYSTEMS[system] : undefined;
  return name === undefined ? text : `${name} ${code}`;
}

/** Texts of foreign documents may look like a time and be none, such as the 99th of a month. */
const isTime = (text: string): boolean => !Number.isNaN(Date.parse(text));
