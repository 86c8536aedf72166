/** The conditions of a release. Each is a function of facts, so that a table test covers them. */

/**
 * @typedef {object} Facts
 * @property {string} branch the branch that is checked out; "" if none is
 * @property {string | undefined} missingVerification what `missingVerification` says
 * @property {readonly string[]} changesets names of pending changesets
 * @property {readonly string[]} withoutChangelog packages whose CHANGELOG.md has no section of their version
 * @property {readonly { name: string, url: string | undefined, directory: string | undefined, folder: string }[]} repositories
 * @property {readonly string[]} tags tags that exist
 * @property {readonly string[]} releases what is published: `name@version`, without what the registry has
 * @property {string | undefined} user who is logged in at the registry; undefined without a check, in a dry run
 * @property {boolean} isDryRun
 */

/** Every condition in the order in which it is checked. `problem` says what to do; undefined if the condition holds. */
export const CONDITIONS = [
  {
    name: "the main branch is checked out",
    problem: ({ branch }) =>
      branch === "main" ? undefined : `The branch is ${branch || "none"}. Run \`git switch main\`.`,
  },
  {
    name: "versions are raised",
    problem: ({ changesets }) =>
      changesets.length === 0
        ? undefined
        : `${changesets.length} changesets are pending (${changesets.slice(0, 3).join(", ")} …). Run \`npm run version\` and commit the result.`,
  },
  {
    name: "changelogs have the versions",
    problem: ({ withoutChangelog }) =>
      withoutChangelog.length === 0
        ? undefined
        : `CHANGELOG.md has no section of the version for ${withoutChangelog.join(", ")}. Run \`npm run version\`; it writes them from the changesets.`,
  },
  {
    name: "manifests name the repository",
    problem: ({ repositories }) => {
      const wrong = repositories.filter(({ url, directory, folder }) => !url || directory !== folder);
      return wrong.length === 0
        ? undefined
        : `\`repository\` is missing or wrong in ${wrong.map(({ folder }) => `${folder}/package.json`).join(", ")}. npm compares it with the repository that publishes, for provenance. Run \`npm run release -- --set-repository https://github.com/OWNER/NAME\` and commit the result.`;
    },
  },
  {
    name: "something is new",
    problem: ({ releases }) =>
      releases.length > 0 ? undefined : "The registry has all these versions. Nothing is to be published.",
  },
  {
    name: "tags are free",
    problem: ({ tags, releases }) => {
      const taken = releases.filter((release) => tags.includes(release));
      return taken.length === 0
        ? undefined
        : `These tags exist, although the registry has no such version: ${taken.join(", ")}. Delete them if they are wrong (\`git tag -d\`), or raise the version.`;
    },
  },
  {
    name: "verify has passed at this commit",
    problem: ({ missingVerification }) => missingVerification,
  },
  {
    name: "you are logged in",
    problem: ({ isDryRun, user }) =>
      isDryRun || user !== undefined
        ? undefined
        : "The registry knows no user. Run `npm login`, or publish with the release workflow.",
  },
];
