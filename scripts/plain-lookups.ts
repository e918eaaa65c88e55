import { fileURLToPath } from 'node:url';
import {
  type ElementAccessExpression,
  isAsExpression,
  isBinaryExpression,
  isCallExpression,
  isConditionalExpression,
  isElementAccessExpression,
  isIdentifier,
  isObjectLiteralExpression,
  isParenthesizedExpression,
  isPropertyAssignment,
  isSatisfiesExpression,
  isVariableDeclaration,
  type Node,
  type SourceFile,
  SyntaxKind,
} from 'typescript/unstable/ast';
import { API, SymbolFlags, TypeFlags } from 'typescript/unstable/sync';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const OURS = /^(?:src|packages\/[\w-]+\/src)\//;

/** A place where a text that the compiler knows nothing of is looked up. */
export interface PlainLookup {
  /** From the folder of the repository. */
  file: string;
  /** Such as `SIDES[code]`. */
  expression: string;
}

/**
 * The look-ups by any text in an object that was written as a literal: such an
 * object also has `constructor`, `toString` and their like. What a function
 * returned, as `lookupTable` does, what was read, and what a caller handed over
 * are not looked at.
 */
export function foundPlainLookups(): PlainLookup[] {
  const api = new API({ cwd: ROOT });
  try {
    const snapshot = api.updateSnapshot({
      openProjects: [`${ROOT}tsconfig.json`],
    });
    const [project] = snapshot.getProjects();
    if (project === undefined) throw new Error('there is no project');
    const { checker, program } = project;

    /** What the name or member was declared with, as far as that is known. */
    const declaredWith = (expression: Node): Node | undefined => {
      const plain = withoutTypes(expression);
      if (isObjectLiteralExpression(plain)) return plain;
      if (isCallExpression(plain)) return undefined;
      let symbol = checker.getSymbolAtLocation(plain);
      if (symbol !== undefined && (symbol.flags & SymbolFlags.Alias) !== 0)
        symbol = checker.getAliasedSymbol(symbol);
      const declaration = symbol?.valueDeclaration?.resolve(project);
      if (declaration === undefined) return undefined;
      const isNamed =
        isVariableDeclaration(declaration) || isPropertyAssignment(declaration);
      const { initializer } = isNamed ? declaration : {};
      if (initializer === undefined) return undefined;
      const written = withoutTypes(initializer);
      return isIdentifier(written) ? declaredWith(written) : written;
    };

    return program.getSourceFileNames().flatMap((path) => {
      const file = path.slice(ROOT.length);
      const source = OURS.test(file) ? program.getSourceFile(path) : undefined;
      if (source === undefined) return [];
      return accessesIn(source)
        .filter(({ argumentExpression, expression }) => {
          const key = checker.getTypeAtLocation(argumentExpression);
          const isAnyText =
            key !== undefined && (key.flags & TypeFlags.String) !== 0;
          const made = isAnyText ? declaredWith(expression) : undefined;
          return made !== undefined && isObjectLiteralExpression(made);
        })
        .filter((access) => !isFilled(access) && !isGuarded(access, source))
        .map((access) => ({
          file,
          expression: source.text
            .slice(access.pos, access.end)
            .trim()
            .replaceAll(/\s+/g, ' '),
        }));
    });
  } finally {
    api.close();
  }
}

function withoutTypes(node: Node): Node {
  return isParenthesizedExpression(node) ||
    isAsExpression(node) ||
    isSatisfiesExpression(node)
    ? withoutTypes(node.expression)
    : node;
}

/** `table[name] = …`, which looks up nothing. */
const isFilled = (access: ElementAccessExpression): boolean =>
  isBinaryExpression(access.parent) &&
  access.parent.left === access &&
  access.parent.operatorToken.kind === SyntaxKind.EqualsToken;

/** `Object.hasOwn(table, name) ? table[name] : undefined`. */
function isGuarded(
  { parent, expression }: ElementAccessExpression,
  source: SourceFile,
): boolean {
  const table = source.text.slice(expression.pos, expression.end).trim();
  return (
    isConditionalExpression(parent) &&
    source.text
      .slice(parent.condition.pos, parent.condition.end)
      .includes(`Object.hasOwn(${table},`)
  );
}

function accessesIn(node: Node): ElementAccessExpression[] {
  const found: ElementAccessExpression[] = [];
  const visit = (each: Node): void => {
    if (isElementAccessExpression(each)) found.push(each);
    each.forEachChild(visit);
  };
  visit(node);
  return found;
}
