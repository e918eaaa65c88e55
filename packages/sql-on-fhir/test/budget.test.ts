import { expect, test } from 'vitest';
import { checkDefinition } from '../src/budget.ts';
import { compileExpression } from '../src/fhirpath.ts';
import { compileView } from '../src/index.ts';

const compiled = (text: string) => compileExpression(text, 'path', []);
const evaluated = (text: string) =>
  compiled(text)
    .evaluate({ type: 'Patient', value: { resourceType: 'Patient' } }, {})
    .map(({ value }) => value);

const column = (path: string) => ({ name: 'a', path });
const deep = (levels: number): object =>
  JSON.parse(`${'{"select":['.repeat(levels)}${']}'.repeat(levels)}`);

test('what a sign stands before is evaluated once', () => {
  expect(evaluated(`${'-'.repeat(10)}1`)).toEqual([1]);
  expect(evaluated(`${'-'.repeat(11)}1`)).toEqual([-1]);
  expect(evaluated('-(1 | 2)')).toEqual([]);
});

test.each([
  ['forty signs', `${'-'.repeat(40)}1`, 'is nested deeper than 20'],
  ['calls in calls', `${'iif(true, '.repeat(40)}1${')'.repeat(40)}`, 'nested'],
  ['very many parts', `1${'+1'.repeat(480)}`, 'has more than 400 parts'],
])('an expression with %s is refused', (_, text, message) => {
  expect(() => compiled(text)).toThrow(message);
});

const WORDS = ['toString', 'constructor', '__proto__', 'hasOwnProperty'];

test.each(WORDS)('an element called %s is one that is absent', (word) => {
  expect(evaluated(word)).toEqual([]);
  expect(evaluated(`name.where(${word} = 1)`)).toEqual([]);
});

test('toString() is the function', () => {
  expect(evaluated('1.toString()')).toEqual(['1']);
});

test.each([
  [
    'more expressions than may be',
    { column: Array(30).fill(column('a'.repeat(900))) },
    'at most 20000 characters together',
  ],
  [
    'a long expression',
    { forEach: 'a'.repeat(1_001) },
    'forEach has more than 1000 characters',
  ],
  [
    'a long expression among several',
    { repeat: ['a', '('.repeat(40)] },
    'repeat is nested deeper than 20',
  ],
  ['selects in selects without end', deep(1_500), 'nested too deep'],
])(
  'a definition with %s is refused before it is parsed',
  (_, select, message) => {
    const definition = { resource: 'Patient', select: [select] };
    expect(() => checkDefinition(definition)).toThrow(message);
  },
);

test('of very many faults of a definition the first ones are told', () => {
  const select = [{ column: Array(2_000).fill({}) }];
  const told = () => compileView({ resource: 'Patient', select });
  expect(told).toThrow(/column\[9\]\.path: .*; and 3980 more$/);
});

test('a chain of elements, and a list of codes, may be as long as an expression', () => {
  expect(() => compiled(`a${'.b'.repeat(150)}`)).not.toThrow();
  const codes = Array.from({ length: 80 }, (_, n) => `'code-${n}'`);
  expect(() => compiled(`code in (${codes.join('|')})`)).not.toThrow();
});
