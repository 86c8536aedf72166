import type ts from "typescript";

/** What is used of TypeScript. A checker is made from files directly: a program would bring files, emitting and options along. */
export interface CheckerApi
  extends Pick<
    typeof ts,
    | "createSourceFile"
    | "flattenDiagnosticMessageText"
    | "forEachChild"
    | "idText"
    | "isIdentifier"
    | "symbolName"
    | "isPropertyAccessExpression"
  > {
  createTypeChecker(host: object): Checker;
  /** Where a node begins behind spaces and comments. */
  getTokenPosOfNode(node: ts.Node, file: ts.SourceFile): number;
}

interface Checker extends ts.TypeChecker {
  getDiagnostics(file: ts.SourceFile): ts.Diagnostic[];
}

interface CodeFile extends ts.SourceFile {
  readonly parseDiagnostics: readonly ts.DiagnosticWithLocation[];
}

/** Something that is wrong, from one character up to another. */
export interface Mistake {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

/** What a name is, for people. */
export interface Hover {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface Member {
  readonly label: string;
  readonly detail: string;
}

/** Knows the types of code. Positions are characters of it. */
export interface CodeTypes {
  mistakes(code: string): readonly Mistake[];
  hover(code: string, at: number): Hover | undefined;
  /** What the expression has whose dot ends at the position. */
  members(code: string, at: number): readonly Member[];
}

export interface CodeTypesOptions {
  /** Files of the language's own declarations. */
  readonly library: { readonly [name: string]: string };
  /** Modules by the names that imports have for them. */
  readonly modules: { readonly [name: string]: string };
}

// Numbers of TypeScript's enums, which a bundle of types alone does not have.
const ES_NEXT = 99;
const ERROR = 1;
const ANY = 1;
/** Names of types stand alone, wherever they come from. */
const NAMES_ALONE = 16_384;
const FILE = "/transform.ts";
const MOST_MISTAKES = 50;

const OPTIONS = {
  ...{ target: ES_NEXT, module: ES_NEXT, moduleDetection: 3, types: [], lib: [] },
  // A parameter without a type is no mistake: types are for those who write them.
  ...{
    strict: true,
    noImplicitAny: false,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
  },
};

/** Parses the declarations once. Each new text of the code makes a checker, which takes some tens of milliseconds. */
export function openCodeTypes(api: CheckerApi, { library, modules }: CodeTypesOptions): CodeTypes {
  const parse = (name: string, text: string, isModule: boolean): CodeFile => {
    const format = isModule ? { impliedNodeFormat: ES_NEXT } : {};
    const file = api.createSourceFile(name, text, { languageVersion: ES_NEXT, ...format }, true);
    // What a program would add.
    const added = { path: name, resolvedPath: name, originalFileName: name };
    return Object.assign(file, {
      ...added,
      imports: [],
      moduleAugmentations: [],
      ambientModuleNames: [],
    }) as never;
  };
  const language = Object.entries(library).map(([name, text]) => parse(`/library/${name}.d.ts`, text, false));
  const others = new Map(
    Object.entries(modules).map(([name, text]) => [name, parse(`/${name}.ts`, text, true)]),
  );
  let last: { readonly code: string; readonly file: CodeFile; readonly checker: Checker } | undefined;
  const checked = (code: string) => {
    if (last?.code === code) return last;
    const file = parse(FILE, code, true);
    last = { code, file, checker: api.createTypeChecker(hostOf(file, language, others)) };
    return last;
  };

  return {
    mistakes(code) {
      const { file, checker } = checked(code);
      const syntax = file.parseDiagnostics;
      return [...syntax, ...(syntax.length > 0 ? [] : checker.getDiagnostics(file))]
        .filter(({ category }) => category === ERROR)
        .slice(0, MOST_MISTAKES)
        .map(({ start = 0, length = 0, messageText }) => ({
          from: start,
          to: start + length,
          message: api.flattenDiagnosticMessageText(messageText, "\n"),
        }));
    },
    hover(code, at) {
      const { file, checker } = checked(code);
      const node = nodeAt(api, file, at);
      if (node === undefined || !api.isIdentifier(node)) return undefined;
      const symbol = checker.getSymbolAtLocation(node);
      const type = checker.getTypeAtLocation(node);
      if (symbol === undefined || (type.flags & ANY) !== 0) return undefined;
      return {
        from: api.getTokenPosOfNode(node, file),
        to: node.end,
        text: `${api.idText(node)}: ${checker.typeToString(type, undefined, NAMES_ALONE)}`,
      };
    },
    members(code, at) {
      const { file, checker } = checked(code);
      for (let node = nodeAt(api, file, at - 1); node !== undefined; node = node.parent) {
        if (!api.isPropertyAccessExpression(node) || node.name.pos !== at) continue;
        const type = checker.getTypeAtLocation(node.expression);
        if ((type.flags & ANY) !== 0) return [];
        const of = node.expression;
        return checker.getPropertiesOfType(checker.getNonNullableType(type)).map((property) => ({
          label: api.symbolName(property),
          detail: checker.typeToString(
            checker.getTypeOfSymbolAtLocation(property, of),
            undefined,
            NAMES_ALONE,
          ),
        }));
      }
      return [];
    },
  };
}

/** The innermost node at a position. */
function nodeAt(api: CheckerApi, file: ts.SourceFile, at: number): ts.Node | undefined {
  let found: ts.Node | undefined;
  const visit = (node: ts.Node): void => {
    if (at < node.pos || at > node.end) return;
    found = node;
    api.forEachChild(node, visit);
  };
  api.forEachChild(file, visit);
  return found;
}

/** What a checker asks of the program that it belongs to. */
function hostOf(
  file: CodeFile,
  language: readonly CodeFile[],
  others: ReadonlyMap<string, CodeFile>,
): object {
  const files = [...language, ...others.values(), file];
  const esNext = () => ES_NEXT;
  const nothing = () => undefined;
  const no = () => false;
  return {
    getCompilerOptions: () => OPTIONS,
    getSourceFiles: () => files,
    getSourceFile: (name: string) => files.find(({ fileName }) => fileName === name),
    getResolvedModule(_from: unknown, name: string) {
      const found = others.get(name);
      return found && { resolvedModule: { resolvedFileName: found.fileName, extension: ".ts" } };
    },
    isSourceFileDefaultLibrary: (one: CodeFile) => language.includes(one),
    ...{ getModeForUsageLocation: esNext, getDefaultResolutionModeForFile: esNext },
    ...{
      getEmitModuleFormatOfFile: esNext,
      getImpliedNodeFormatForEmit: esNext,
      getEmitSyntaxForUsageLocation: esNext,
    },
    ...{
      getRedirectFromSourceFile: nothing,
      getRedirectFromOutput: nothing,
      getGlobalTypingsCacheLocation: nothing,
    },
    ...{
      isSourceOfProjectReferenceRedirect: no,
      isSourceFileFromExternalLibrary: no,
      typesPackageExists: no,
    },
    ...{ packageBundlesTypes: no, fileExists: no, readFile: nothing, getSymlinkCache: nothing },
    ...{
      useCaseSensitiveFileNames: () => true,
      getCurrentDirectory: () => "/",
      getCommonSourceDirectory: () => "/",
    },
    redirectTargetsMap: new Map(),
  };
}
