import { isIP } from 'node:net';
import { z } from 'zod';
import { isTimeZone } from '../lib/time.ts';

export const port = z.coerce.number().int().min(0).max(65_535);
export const ports = z
  .string()
  .transform((value) => value.split(/\s+/).filter(Boolean))
  .transform((words) => words.map(Number))
  .pipe(z.array(z.int().min(1).max(65_535)));
export const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
export const httpUrl = z.url({ protocol: /^https?$/ }).transform((value) => value.replace(/\/+$/, ''));
const wordsOf = (value: string): string[] => value.split(/\s+/).filter(Boolean);
/** Values separated by spaces. */
const listOf = <T extends z.ZodType<unknown, string>>(item: T) =>
  z.string().transform(wordsOf).pipe(z.array(item));
/** A JSON object. */
export const jsonObject = z.string().transform((text, context): object => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Said below.
  }
  context.addIssue('must be a JSON object, such as {"pageSize": 50}');
  return z.NEVER;
});
export const origins = listOf(httpUrl.transform((url) => new URL(url).origin));
export const secret = z.string().min(16, { error: 'must have at least 16 characters' });

/** The driver reads the modes in between differently from libpq, and some of them accept any certificate. */
const TLS_MODES = ['verify-full', 'disable'];
export const databaseUrl = z
  .string()
  .min(1)
  .refine((value) => !/[?&](uselibpqcompat|ssl)=/.test(value) && hasTlsMode(value), {
    error: `sslmode must be ${TLS_MODES.join(' or ')}; other modes, ssl= and uselibpqcompat= are not accepted`,
  });

function hasTlsMode(url: string): boolean {
  const modes = [...url.matchAll(/[?&]sslmode=([^&]*)/g)].map(([, mode = '']) => mode);
  return modes.length === 0 || (modes.length === 1 && TLS_MODES.includes(modes[0] ?? ''));
}

const timeZone = z.string().refine(isTimeZone, { error: 'is not an IANA time zone name' });
const sender = z
  .string()
  .regex(/^[\w.-]+=[^@\s]+(@\S+)?$/, { error: 'each must have the form name=secret or name=secret@zone' })
  .transform((text) => {
    const [, name = '', key = '', zone = 'UTC'] = /^([^=]+)=([^@]+)(?:@(.+))?$/.exec(text) ?? [];
    return { name, secret: key, timeZone: zone };
  })
  .pipe(z.object({ name: z.string(), secret, timeZone }));
const PROXY_RANGES = ['loopback', 'linklocal', 'uniquelocal'];
export const proxies = z
  .string()
  .transform(wordsOf)
  .refine((all) => all.every(isProxy), {
    error: `each must be an address, a range such as 10.0.0.0/8, or one of: ${PROXY_RANGES.join(', ')}`,
  });

function isProxy(text: string): boolean {
  if (PROXY_RANGES.includes(text)) return true;
  const [, address = '', bits] = /^([\da-f:.]+?)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  return isIP(address) !== 0 && Number(bits ?? 0) <= (isIP(address) === 4 ? 32 : 128);
}

export const secrets = z.string().transform(wordsOf).pipe(z.array(secret).min(1));
export const senders = listOf(sender);

export const mllpSenders = listOf(
  z
    .string()
    .regex(/^[\w.-]+=(certificate:[\w.-]+|[^|]+\|[^|]+)$/, {
      error: 'each must have the form name=certificate:name-in-the-certificate or name=MSH-3|MSH-4',
    })
    .transform((text) => {
      const [, sender = '', certificate, application, facility] =
        /^([^=]+)=(?:certificate:(.+)|([^|]+)\|(.+))$/.exec(text) ?? [];
      return certificate === undefined
        ? { sender, application: spaced(application), facility: spaced(facility) }
        : { sender, certificate };
    }),
);
/** `+` stands for a space, because spaces separate the senders. */
const spaced = (text = ''): string => text.replaceAll('+', ' ');
