package headrace.spark;

import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.types.*;
import scala.Enumeration;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * What in an analysed plan may give another value in another run: chance, the clock, and whatever
 * depends on who runs it, where and in which session.
 *
 * <p>Spark itself says which expressions are not deterministic. The clock and the session are
 * deterministic to it within one query; they are the expressions that it replaces by constants
 * when it optimises the plan. So are texts such as 'now' that become dates or times.
 */
public final class Volatility {
  private static final Pattern SPECIAL =
      Pattern.compile("(?i)\\s*(now|today|tomorrow|yesterday)(\\s.*)?");
  private static final Enumeration.Value CURRENT = TreePattern$.MODULE$.CURRENT_LIKE();
  private static final String METADATA_COLUMN = "__metadata_col";
  private static final String FILE_METADATA_COLUMN = "__file_source_metadata_col";

  private final Set found = new LinkedHashSet();
  private final ArrayDeque plans = new ArrayDeque();

  private Volatility() {}

  /** The reasons, one a line; empty if there are none. */
  static String of(LogicalPlan plan) {
    Volatility walk = new Volatility();
    walk.plans.add(plan);
    while (!walk.plans.isEmpty()) {
      walk.visit((LogicalPlan) walk.plans.poll());
    }
    return String.join("\n", walk.found);
  }

  private void visit(LogicalPlan plan) {
    addAll(plan.children());
    if (plan instanceof Sample) {
      found.add("TABLESAMPLE takes other rows each run");
    }
    Iterator each = plan.expressions().iterator();
    while (each.hasNext()) {
      Expression expression = (Expression) each.next();
      if (!isOurs(expression)) {
        visit(expression);
      }
    }
  }

  private void addAll(Seq children) {
    Iterator each = children.iterator();
    while (each.hasNext()) {
      plans.add(each.next());
    }
  }

  /** Whether it leaves out the rows of a deletion vector, for which it looks at hidden columns. */
  private static boolean isOurs(Expression expression) {
    Iterator each = expression.references().iterator();
    while (each.hasNext()) {
      if (((Attribute) each.next()).name().equals(Vectors.COLUMN)) {
        return true;
      }
    }
    return false;
  }

  private void visit(Expression root) {
    ArrayDeque waiting = new ArrayDeque();
    waiting.add(root);
    while (!waiting.isEmpty()) {
      Expression node = (Expression) waiting.poll();
      String reason = reason(node);
      if (reason != null) {
        found.add(reason);
      }
      if (node instanceof PlanExpression) {
        plans.add(((PlanExpression) node).plan());
      }
      if (node instanceof RuntimeReplaceable) {
        waiting.add(((RuntimeReplaceable) node).replacement());
      }
      Iterator each = node.children().iterator();
      while (each.hasNext()) {
        waiting.add(each.next());
      }
    }
  }

  private static String reason(Expression node) {
    if (node instanceof VariableReference) {
      return node.sql() + " is a variable of the session";
    }
    if (node instanceof AttributeReference) {
      Metadata metadata = ((AttributeReference) node).metadata();
      boolean isHidden =
          metadata.contains(METADATA_COLUMN) || metadata.contains(FILE_METADATA_COLUMN);
      return isHidden ? ((AttributeReference) node).name() + " depends on how files are stored" : null;
    }
    if (node instanceof CurrentTimeZone) {
      return null; // a setting of the project, and so a part of every key
    }
    if (node.containsPattern(CURRENT) && isCause(node, CURRENT)) {
      return node.sql() + " depends on when, where and by whom it is run";
    }
    if (node instanceof Cast && isSpecial((Cast) node)) {
      return node.sql() + " is another time each run";
    }
    if (!(node instanceof PlanExpression) && !node.deterministic() && isCause(node, null)) {
      return node.sql() + " is another value each run";
    }
    return null;
  }

  /** Whether an expression is what it is by itself, and not because of what it is given. */
  private static boolean isCause(Expression node, Enumeration.Value pattern) {
    Iterator each = node.children().iterator();
    while (each.hasNext()) {
      Expression child = (Expression) each.next();
      if (pattern == null ? !child.deterministic() : child.containsPattern(pattern)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isSpecial(Cast cast) {
    DataType to = cast.dataType();
    boolean isTime =
        to instanceof DateType || to instanceof TimestampType || to instanceof TimestampNTZType;
    Expression from = (Expression) cast.child();
    if (!isTime || !(from.dataType() instanceof StringType) || !from.foldable()) {
      return false;
    }
    try {
      Object text = from.eval(null);
      return text != null && SPECIAL.matcher(text.toString()).matches();
    } catch (RuntimeException error) {
      return true; // its value cannot be told: it may be one
    }
  }
}
