package headrace.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.types.*;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Evaluates the resolved filters of a query over partition values, or encodes them for the kernel.
 *
 * <p>The encoded predicate may be weaker than the filters, never stronger: parts of a conjunction
 * that cannot be encoded are omitted. Values are encoded in Spark's internal form, so they depend
 * neither on a time zone nor on a text format.
 */
public final class Predicates {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private Predicates() {}

  /** Returns a predicate for all filters over a row of partition values; null if there are none. */
  static BasePredicate overPartitions(Seq filters, StructType schema) {
    Expression all = null;
    Iterator each = filters.iterator();
    while (each.hasNext()) {
      Expression next = (Expression) each.next();
      all = all == null ? next : (Expression) new And(all, next);
    }
    if (all == null) {
      return null;
    }
    return Predicate$.MODULE$.createInterpreted((Expression) all.transform(new Binder(schema)));
  }

  /** Replaces references to partition columns by their ordinals. */
  public static final class Binder extends scala.runtime.AbstractPartialFunction {
    private final StructType schema;

    public Binder(StructType schema) {
      this.schema = schema;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof AttributeReference;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!(node instanceof AttributeReference)) {
        return otherwise.apply(node);
      }
      int index = schema.fieldIndex(((AttributeReference) node).name());
      return new BoundReference(index, schema.fields()[index].dataType(), true);
    }
  }

  /** Returns the filters that can be encoded, as JSON; null if none can. */
  public static String toJson(Seq partitionFilters, Seq dataFilters) {
    ArrayNode all = JSON.arrayNode().add("and");
    addEach(all, partitionFilters);
    addEach(all, dataFilters);
    return all.size() == 1 ? null : all.toString();
  }

  private static void addEach(ArrayNode all, Seq filters) {
    Iterator each = filters.iterator();
    while (each.hasNext()) {
      ArrayNode filter = encoded((Expression) each.next(), true);
      if (filter != null) {
        all.add(filter);
      }
    }
  }

  /** Encodes an expression; null if that is not possible without weakening it too much. */
  private static ArrayNode encoded(Expression node, boolean mayWeaken) {
    if (node instanceof And) {
      ArrayNode left = encoded(((And) node).left(), mayWeaken);
      ArrayNode right = encoded(((And) node).right(), mayWeaken);
      if (left != null && right != null) {
        return JSON.arrayNode().add("and").add(left).add(right);
      }
      return mayWeaken ? (left != null ? left : right) : null;
    }
    if (node instanceof Or) {
      ArrayNode left = encoded(((Or) node).left(), mayWeaken);
      ArrayNode right = encoded(((Or) node).right(), mayWeaken);
      boolean both = left != null && right != null;
      return both ? JSON.arrayNode().add("or").add(left).add(right) : null;
    }
    if (node instanceof Not) {
      ArrayNode inner = encoded(((Not) node).child(), false);
      return inner == null ? null : JSON.arrayNode().add("not").add(inner);
    }
    if (node instanceof BinaryComparison) {
      return comparison((BinaryComparison) node);
    }
    if (node instanceof IsNull) {
      return withColumn("null", ((IsNull) node).child());
    }
    if (node instanceof IsNotNull) {
      ArrayNode inner = withColumn("null", ((IsNotNull) node).child());
      return inner == null ? null : JSON.arrayNode().add("not").add(inner);
    }
    if (node instanceof In) {
      return in((In) node);
    }
    if (node instanceof InSet) {
      return inSet((InSet) node);
    }
    if (node instanceof StartsWith) {
      return startsWith((StartsWith) node);
    }
    return node.dataType() instanceof BooleanType ? withColumn("true", node) : null;
  }

  private static ArrayNode comparison(BinaryComparison node) {
    String symbol = node.symbol();
    Expression left = (Expression) node.left();
    Expression right = (Expression) node.right();
    if (left instanceof Literal) {
      Expression other = left;
      left = right;
      right = other;
      symbol = symbol.equals("<=>") ? symbol : mirrored(symbol);
    }
    if (!(right instanceof Literal) || !left.dataType().equals(right.dataType())) {
      return null;
    }
    ArrayNode value = value(((Literal) right).value(), right.dataType());
    ArrayNode found = withColumn(symbol, left);
    return found == null || value == null ? null : found.add(value);
  }

  private static String mirrored(String symbol) {
    return symbol.replace('<', '!').replace('>', '<').replace('!', '>');
  }

  private static ArrayNode in(In node) {
    ArrayNode found = withColumn("in", node.value());
    Iterator each = node.list().iterator();
    while (found != null && each.hasNext()) {
      Expression item = (Expression) each.next();
      boolean alike = item.dataType().equals(node.value().dataType());
      ArrayNode value =
          alike && item instanceof Literal ? value(((Literal) item).value(), item.dataType()) : null;
      found = value == null ? null : found.add(value);
    }
    return found;
  }

  private static ArrayNode inSet(InSet node) {
    ArrayNode found = withColumn("in", node.child());
    Iterator each = node.hset().iterator();
    while (found != null && each.hasNext()) {
      ArrayNode value = value(each.next(), node.child().dataType());
      found = value == null ? null : found.add(value);
    }
    return found;
  }

  private static ArrayNode startsWith(StartsWith node) {
    if (!(node.right() instanceof Literal)) {
      return null;
    }
    ArrayNode found = withColumn("starts", node.left());
    ArrayNode value = value(((Literal) node.right()).value(), node.right().dataType());
    return found == null || value == null ? null : found.add(value);
  }

  private static ArrayNode withColumn(String operator, Expression column) {
    ArrayNode path = JSON.arrayNode();
    return addPath(path, column) ? JSON.arrayNode().add(operator).add(path) : null;
  }

  private static boolean addPath(ArrayNode path, Expression column) {
    if (column instanceof AttributeReference) {
      path.add(((AttributeReference) column).name());
      return true;
    }
    if (!(column instanceof GetStructField)) {
      return false;
    }
    GetStructField field = (GetStructField) column;
    if (!addPath(path, field.child())) {
      return false;
    }
    path.add(((StructType) field.child().dataType()).fields()[field.ordinal()].name());
    return true;
  }

  /** Encodes a value as its kind and text; null if the kernel lacks its type. */
  private static ArrayNode value(Object value, DataType type) {
    ArrayNode found = JSON.arrayNode();
    if (value == null) {
      return found.add("null").add("");
    }
    if (type instanceof BooleanType) {
      return found.add("boolean").add(value.toString());
    }
    if (type instanceof IntegralType) {
      return found.add("integer").add(value.toString());
    }
    if (type instanceof FloatType || type instanceof DoubleType) {
      return found.add("double").add(Double.toHexString(((Number) value).doubleValue()));
    }
    if (type instanceof DecimalType) {
      return found.add("decimal").add(((Decimal) value).toJavaBigDecimal().toPlainString());
    }
    if (type instanceof StringType) {
      boolean isPlain = type.equals(StringType$.MODULE$);
      return isPlain ? found.add("string").add(value.toString()) : null;
    }
    if (type instanceof DateType) {
      return found.add("date").add(value.toString());
    }
    if (type instanceof TimestampType) {
      return found.add("timestamp").add(value.toString());
    }
    if (type instanceof TimestampNTZType) {
      return found.add("timestamp_ntz").add(value.toString());
    }
    return null;
  }

  static Seq seq(Object[] items) {
    return scala.collection.immutable.ArraySeq$.MODULE$.unsafeWrapArray(items);
  }
}
