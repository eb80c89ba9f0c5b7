import { parse, type FunctionExpression, type Pattern, type Program } from 'acorn';

/** One parameter of a method, as its source has it. */
export interface Parameter {
  /** Undefined for a destructured parameter, which has no name of its own. */
  readonly name: string | undefined;
  readonly rest: boolean;
}

/** The parameters of a function, read from its source with a parser; undefined for native code. */
export function parametersOf(method: (...args: never[]) => unknown): readonly Parameter[] | undefined {
  const source = Function.prototype.toString.call(method);
  // A method is only a function inside of an object: `async buy(userId) {…}`. Everything else is an expression of its
  // own. Of a method called `static` V8 forgets the name: `(userId) {…}`.
  for (const program of [`({${source}})`, `(${source})`, `({m${source}})`]) {
    const parsed = tryParse(program, 'module') ?? tryParse(program, 'script');
    if (parsed) return functionIn(parsed)?.params.map(parameterOf);
  }
  return undefined;
}

function tryParse(source: string, sourceType: 'module' | 'script'): Program | undefined {
  try {
    return parse(source, {
      ecmaVersion: 'latest',
      sourceType,
      allowSuperOutsideMethod: true,
      checkPrivateFields: false,
    });
  } catch {
    return undefined;
  }
}

function functionIn({ body: [statement] }: Program): Pick<FunctionExpression, 'params'> | undefined {
  if (statement?.type !== 'ExpressionStatement') return undefined;
  const { expression } = statement;
  if (expression.type === 'FunctionExpression' || expression.type === 'ArrowFunctionExpression') return expression;
  const member = expression.type === 'ObjectExpression' ? expression.properties[0] : undefined;
  return member?.type === 'Property' && member.value.type === 'FunctionExpression' ? member.value : undefined;
}

function parameterOf(pattern: Pattern): Parameter {
  const rest = pattern.type === 'RestElement';
  const inner =
    pattern.type === 'RestElement' ? pattern.argument : pattern.type === 'AssignmentPattern' ? pattern.left : pattern;
  return { name: inner.type === 'Identifier' ? inner.name : undefined, rest };
}
