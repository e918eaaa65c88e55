import { type Json, objectsOf } from '../rules/json.ts';
import { kindOf, type SectionKind } from './sections.ts';
import { STATEMENTS, type Statement, sectionsOf } from './statements.ts';

/** The statements of a document by the id that the resource made of each will have. */
export type NamedStatements = ReadonlyMap<string, Statement>;

/**
 * Gives each statement of a parsed document an id of its own, in place, so that what the converter makes of it can be corrected by
 * what the document says: it takes a UUID without an extension as the resource's id. `tidyResources` replaces these ids.
 */
export function nameStatements(document: Json): NamedStatements {
  const named = new Map<string, Statement>();
  for (const section of sectionsOf(document)) {
    const kind = kindOf(section);
    for (const entry of objectsOf(section.entry)) nameIn(entry, kind, named);
  }
  return named;
}

function nameIn(node: Json, section: SectionKind | undefined, named: Map<string, Statement>): void {
  for (const kind of STATEMENTS)
    for (const statement of objectsOf(node[kind])) {
      const name = `00000000-0000-4000-8000-${(named.size + 1).toString(16).padStart(12, '0')}`;
      (statement as Record<string, unknown>).id = [{ '@_root': name }, ...objectsOf(statement.id)];
      named.set(name, { kind, node: statement, section });
      nameIn(statement, section, named);
    }
  for (const part of ['component', 'entryRelationship'])
    for (const inner of objectsOf(node[part])) nameIn(inner, section, named);
}
